#include "cli/command.h"

namespace torchport::cli {

namespace {

std::vector<Command>& commands() {
  static std::vector<Command> list;
  return list;
}

int chosen_exit_code = kClean;

}  // namespace

CommandRegistration::CommandRegistration(Command command) {
  commands().push_back(command);
}
std::vector<Command> all_commands() {
  return commands();
}
void set_exit_code(int code) {
  chosen_exit_code = code;
}
std::optional<std::vector<std::string>>& after_dashes() {
  static std::optional<std::vector<std::string>> rest;
  return rest;
}

int exit_code() {
  return chosen_exit_code;
}

std::atomic<bool>& interrupted() {
  static std::atomic<bool> flag{false};
  return flag;
}

}  // namespace torchport::cli
