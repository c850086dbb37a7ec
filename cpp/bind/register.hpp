// How a game enters the module: the same for every game, one translation unit each.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "games/any.hpp"
#include "search/alphabeta.hpp"
#include "search/any_search.hpp"
#include "search/game_graph.hpp"
#include "search/settings.hpp"

namespace ramify {

using SearchMaker = std::function<std::unique_ptr<AnySearch>(const AnyState&, const Settings&)>;
std::map<std::string, SearchMaker>& search_registry();

using AlphaBetaRunner = AlphaBetaResult (*)(const AnyState&, const AlphaBetaSettings&, Watcher&);
std::map<std::string, AlphaBetaRunner>& alphabeta_registry();

using GraphBuilderOf = GameGraph (*)(const AnyState&, const GraphLimits&, Watcher&);
std::map<std::string, GraphBuilderOf>& graph_registry();

void register_all_games();

}  // namespace ramify
