#include "source/server/configuration.h"

namespace torchport::server {

void use_configuration(Session& session, const Json& settings) {
  ReadSettings read = read_settings(settings);
  session.show_complaints(read.complaints);
  session.workspace.set_client_settings(std::move(read.settings));
  session.check_all();
}

void ask_for_configuration(Session& session) {
  if (!session.abilities.configuration) return;
  session.client.request("workspace/configuration",
                         {{"items", Json::array({{{"section", "torchport"}}})}},
                         [&session](const Json& answer) {
                           if (answer.is_array() && !answer.empty() && answer[0].is_object())
                             use_configuration(session, answer[0]);
                         });
}

}  // namespace torchport::server
