// Quotes text that others wrote, for shells and for JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace torchport::scaffold {

// As one word of sh, whatever is in it but control characters, which become blanks.
[[nodiscard]] std::string shell_word(std::string_view text);
[[nodiscard]] std::string shell_words(const std::vector<std::string>& words);
// ["python", "train.py"]: the exec form of Dockerfiles. Also a flow sequence of YAML.
[[nodiscard]] std::string json_list(const std::vector<std::string>& words);
// "text" in double quotes, for JSON, YAML and labels of Dockerfiles.
[[nodiscard]] std::string json_string(std::string_view text);

}  // namespace torchport::scaffold
