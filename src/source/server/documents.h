// Keeps the documents that the client has open, as it last described them.
//
// A document is a chain of constant snapshots: each change makes a new one. A request keeps the
// snapshots that were current when it arrived, so that its positions fit the text that it is
// answered from, whatever arrives meanwhile.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "source/server/position.h"

namespace torchport::server {

struct Snapshot {
  std::string uri;
  std::string language;      // the client's name of it: "python"
  std::int64_t version = 0;  // the client's number
  std::uint64_t serial = 0;  // different for each snapshot of this process
  std::string text;          // UTF-8
};
using SnapshotPtr = std::shared_ptr<const Snapshot>;

// What is checked as one: a document, or the Python cells of a notebook in their order.
struct Source {
  std::string uri;  // of the document or the notebook
  bool is_notebook = false;
  std::vector<SnapshotPtr> parts;

  // Whether both have the same snapshots.
  [[nodiscard]] bool is_same(const Source& other) const;
};

struct TextChange {
  std::optional<std::pair<Position, Position>> range;  // none: the whole text
  std::string text;
};

// The text after the changes, each of which applies to the result of those before it. A range whose
// end is before its start counts from the end to the start.
[[nodiscard]] std::string changed_text(std::string text, const std::vector<TextChange>& changes,
                                       Encoding encoding);
[[nodiscard]] std::vector<TextChange> read_changes(const Json& json);

// Thread safe.
class Documents {
 public:
  void open(const std::string& uri, std::string language, std::int64_t version, std::string text);
  // Returns false if the document is not open.
  bool change(const std::string& uri, std::int64_t version, const std::vector<TextChange>& changes,
              Encoding encoding);
  void close(const std::string& uri);

  // The cells of a notebook, code or not, in their order. Their texts are opened as documents.
  void set_notebook(const std::string& uri, std::vector<std::string> cells);
  [[nodiscard]] std::vector<std::string> notebook_cells(const std::string& uri) const;
  void close_notebook(const std::string& uri);

  // The source that a document belongs to, or a notebook's; none if it is not open.
  [[nodiscard]] std::optional<Source> source_of(const std::string& uri) const;
  // The documents and notebooks that are open. Cells are not among them.
  [[nodiscard]] std::vector<std::string> all() const;

 private:
  [[nodiscard]] Source notebook_source(const std::string& uri) const;

  mutable std::mutex mutex_;
  std::uint64_t serials_ = 0;
  std::map<std::string, SnapshotPtr, std::less<>> open_;
  std::map<std::string, std::vector<std::string>, std::less<>> notebooks_;
  std::map<std::string, std::string, std::less<>> notebook_of_;  // by the cell's URI
};

}  // namespace torchport::server
