// Quotes text from other people's files for shells and for JSON, so that it cannot become a
// command.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace torchport::scaffold {

// Quotes any text as one word of sh. Control characters become blanks.
[[nodiscard]] std::string shell_word(std::string_view text);
[[nodiscard]] std::string shell_words(const std::vector<std::string>& words);
// ["python", "train.py"]: the exec form of Dockerfiles, which is also a flow sequence of YAML.
[[nodiscard]] std::string json_list(const std::vector<std::string>& words);
// Text in double quotes, for JSON, YAML and labels of Dockerfiles.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace torchport::scaffold
