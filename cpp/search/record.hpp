// A played game as bytes: what happened, and what the searches found. ramify.selfplay.records reads it back.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "search/any_search.hpp"

namespace ramify {

enum GameFlags : std::uint16_t { kResigned = 1, kCut = 2 };  // ended by resignation; by the limit on its length
enum MoveFlags : std::uint8_t { kRecorded = 4, kOpening = 8, kFull = 16 };  // the two bits below say who acted

// Little-endian, without padding; docs/methods/selfplay.md has the layout.
class GameRecord {
 public:
  void begin(std::uint64_t game, std::uint64_t seed) {
    *this = GameRecord{};
    game_ = game;
    seed_ = seed;
  }
  void add_move(Acting acting, Joint joint, std::uint8_t flags, const Report* found);
  std::string finish(const Rewards& returns, std::uint16_t flags) const;
  std::uint32_t moves() const { return moves_; }
  std::uint64_t game() const { return game_; }

 private:
  template <class T>
  void put(T value) {
    body_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void put_search(const Report& found);

  std::uint64_t game_ = 0, seed_ = 0;
  std::uint32_t moves_ = 0;
  std::string body_;
};

}  // namespace ramify
