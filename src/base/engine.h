// Engine: who computes a step of a plan. Part of base/.
#ifndef OCTAVO_BASE_ENGINE_H_
#define OCTAVO_BASE_ENGINE_H_

#include <cstdint>
#include <string_view>

namespace octavo {

// Our own code on the CPU, or a library that a program links beside the runtime. Numbers are part of the artifact
// format.
enum class Engine : std::uint8_t { cpu = 0, onednn = 1 };
constexpr int count_of(Engine) { return 2; }
constexpr std::string_view name_of(Engine engine) { return engine == Engine::cpu ? "cpu" : "oneDNN"; }

}  // namespace octavo

#endif  // OCTAVO_BASE_ENGINE_H_
