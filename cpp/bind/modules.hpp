// The parts of the extension module, each bound in a file of its own.
#pragma once

#include <nanobind/nanobind.h>

namespace ramify {

void bind_exclusive(nanobind::module_& m);
void bind_games(nanobind::module_& m);
void bind_cache(nanobind::module_& m);
void bind_latent(nanobind::module_& m);
void bind_search(nanobind::module_& m);
void bind_alphabeta(nanobind::module_& m);
void bind_pool(nanobind::module_& m);
void bind_policies(nanobind::module_& m);
void bind_equilibria(nanobind::module_& m);
void bind_game_graph(nanobind::module_& m);

}  // namespace ramify
