#include "source/server/server.h"

#include <exception>
#include <thread>

#include <fmt/format.h>

#include "source/server/method.h"

namespace torchport::server {

namespace {

Failure failure(RpcError code, std::string message) {
  return {code, std::move(message)};
}

// The URI of the document or the notebook that a call is about; empty if it names none.
std::string uri_in(const Json& params) {
  for (const char* name : {"textDocument", "notebookDocument"}) {
    if (!params.is_object() || !params.contains(name)) continue;
    const Json& document = params[name];
    if (document.is_object() && document.contains("uri") && document["uri"].is_string())
      return document["uri"].get<std::string>();
  }
  return {};
}

Answer call_method(const Method& method, Session& session, const Call& call) {
  try {
    return method.handle(session, call);
  } catch (const Json::exception& error) {
    return tl::unexpected(failure(RpcError::kInvalidParams, error.what()));
  } catch (const std::exception& error) {
    return tl::unexpected(failure(RpcError::kInternal, error.what()));
  }
}

class Connection {
 public:
  Connection(const base::FileSystem& fs, MessageReader::Read read, Outgoing::Write write,
             std::string version)
      : reader_(std::move(read)), session_(fs, std::move(write), std::move(version)) {}

  int run() {
    std::thread worker([this] { session_.jobs.run(); });
    int code = 1;
    while (!session_.client.is_broken()) {
      auto body = reader_.next();
      if (!body) {
        session_.client.respond(nullptr,
                                tl::unexpected(failure(RpcError::kParse, body.error().message)));
        continue;
      }
      if (!*body) break;
      const Answer message = parse_message(std::move(**body));
      if (!message) {
        session_.client.respond(nullptr, message);
      } else if (is_exit(*message)) {
        code = state_ == State::kShutDown ? 0 : 1;
        break;
      } else {
        take(*message);
      }
    }
    session_.jobs.close();
    worker.join();
    return code;
  }

 private:
  enum class State : std::uint8_t { kNew, kRunning, kShutDown };

  static bool is_exit(const Json& message) {
    return message.is_object() && message.contains("method") && message["method"] == "exit" &&
           !message.contains("id");
  }

  void refuse(const Json& id, RpcError code, std::string text) {
    session_.client.respond(id, tl::unexpected(failure(code, std::move(text))));
  }

  void take(const Json& message) {
    if (!message.is_object())
      return refuse(nullptr, RpcError::kInvalidRequest, "a message must be one object");
    const bool is_request = message.contains("id");
    if (!message.contains("method")) {
      if (is_request && (message.contains("result") || message.contains("error")))
        return reply(message);
      return refuse(nullptr, RpcError::kInvalidRequest, "a message must have a method");
    }
    const Json id = is_request ? message["id"] : Json();
    if (is_request && !id.is_string() && !id.is_number_integer())
      return refuse(nullptr, RpcError::kInvalidRequest, "an id must be a string or an integer");
    if (!message["method"].is_string())
      return refuse(id, RpcError::kInvalidRequest, "a method must be a string");
    const auto name = message["method"].get<std::string>();
    const Json params = message.value("params", Json());
    if (is_request)
      request(id, name, params);
    else
      notification(name, params);
  }

  void reply(const Json& message) {
    session_.jobs.add({{},
                       [this, message](const Job::Stop&) {
                         try {
                           session_.client.replied(message);
                         } catch (const std::exception& error) {
                           log(error.what());
                         }
                       },
                       {}});
  }

  void request(const Json& id, const std::string& name, const Json& params) {
    const bool is_initialize = name == "initialize";
    if (state_ == State::kShutDown)
      return refuse(id, RpcError::kInvalidRequest, "the server has been shut down");
    if (is_initialize && state_ != State::kNew)
      return refuse(id, RpcError::kInvalidRequest, "the server is initialized already");
    if (!is_initialize && state_ == State::kNew)
      return refuse(id, RpcError::kNotInitialized, "the first request must be initialize");
    const Method* method = find_method(name);
    if (method == nullptr)
      return refuse(id, RpcError::kMethodNotFound, fmt::format("{} is not supported", name));
    if (method->turn == Turn::kAtOnce) {
      const Job::Stop never{false};
      const Answer answer = call_method(*method, session_, {params, {}, never});
      if (answer && is_initialize) state_ = State::kRunning;
      if (answer && name == "shutdown") state_ = State::kShutDown;
      return session_.client.respond(id, answer);
    }
    Job job;
    job.key = "request:" + id.dump();
    job.work = [this, id, method, params,
                source = session_.documents.source_of(uri_in(params))](const Job::Stop& stop) {
      const Answer answer = call_method(*method, session_, {params, source, stop});
      if (stop) return refuse(id, RpcError::kCancelled, "cancelled");
      session_.client.respond(id, answer);
    };
    job.cancelled = [this, id] { refuse(id, RpcError::kCancelled, "cancelled"); };
    session_.jobs.add(std::move(job));
  }

  void notification(const std::string& name, const Json& params) {
    if (state_ != State::kRunning) return;
    const Method* method = find_method(name);
    if (method == nullptr) return;
    if (method->turn == Turn::kAtOnce) {
      const Job::Stop never{false};
      return log_failure(
          name, call_method(*method, session_,
                            {params, session_.documents.source_of(uri_in(params)), never}));
    }
    session_.jobs.add({{},
                       [this, name, method, params](const Job::Stop& stop) {
                         log_failure(name, call_method(*method, session_, {params, {}, stop}));
                       },
                       {}});
  }

  void log_failure(const std::string& name, const Answer& answer) {
    if (!answer) log(fmt::format("{}: {}", name, answer.error().message));
  }

  void log(const std::string& text) {
    constexpr int kError = 1;
    session_.client.notify("window/logMessage", {{"type", kError}, {"message", text}});
  }

  MessageReader reader_;
  Session session_;
  State state_ = State::kNew;
};

}  // namespace

int serve(const base::FileSystem& fs, MessageReader::Read read, Outgoing::Write write,
          std::string version) {
  return Connection(fs, std::move(read), std::move(write), std::move(version)).run();
}

}  // namespace torchport::server
