// Lists the node kinds of Python's concrete syntax that the analysis uses, and the named places
// ("fields") of their children. The texts are those of tree-sitter-python. An enumeration replaces
// its numbers, which another release of the grammar may change.
#pragma once

#include <cstdint>
#include <string_view>

namespace torchport::syntax {

#define TORCHPORT_KINDS(X)                                \
  X(kModule, "module")                                    \
  X(kError, "ERROR")                                      \
  X(kComment, "comment")                                  \
  X(kContinuation, "line_continuation")                   \
  X(kImport, "import_statement")                          \
  X(kImportFrom, "import_from_statement")                 \
  X(kFutureImport, "future_import_statement")             \
  X(kAliasedImport, "aliased_import")                     \
  X(kDottedName, "dotted_name")                           \
  X(kRelativeImport, "relative_import")                   \
  X(kImportPrefix, "import_prefix")                       \
  X(kWildcardImport, "wildcard_import")                   \
  X(kExpressionStatement, "expression_statement")         \
  X(kAssignment, "assignment")                            \
  X(kAugmentedAssignment, "augmented_assignment")         \
  X(kNamedExpression, "named_expression")                 \
  X(kReturn, "return_statement")                          \
  X(kIf, "if_statement")                                  \
  X(kElif, "elif_clause")                                 \
  X(kElse, "else_clause")                                 \
  X(kFor, "for_statement")                                \
  X(kWhile, "while_statement")                            \
  X(kTry, "try_statement")                                \
  X(kExcept, "except_clause")                             \
  X(kFinally, "finally_clause")                           \
  X(kWith, "with_statement")                              \
  X(kWithClause, "with_clause")                           \
  X(kWithItem, "with_item")                               \
  X(kAsPattern, "as_pattern")                             \
  X(kAsPatternTarget, "as_pattern_target")                \
  X(kMatch, "match_statement")                            \
  X(kCase, "case_clause")                                 \
  X(kRaise, "raise_statement")                            \
  X(kAssert, "assert_statement")                          \
  X(kPass, "pass_statement")                              \
  X(kBreak, "break_statement")                            \
  X(kContinue, "continue_statement")                      \
  X(kDelete, "delete_statement")                          \
  X(kGlobal, "global_statement")                          \
  X(kNonlocal, "nonlocal_statement")                      \
  X(kPrint, "print_statement")                            \
  X(kExec, "exec_statement")                              \
  X(kFunction, "function_definition")                     \
  X(kClass, "class_definition")                           \
  X(kDecorated, "decorated_definition")                   \
  X(kDecorator, "decorator")                              \
  X(kParameters, "parameters")                            \
  X(kLambdaParameters, "lambda_parameters")               \
  X(kDefaultParameter, "default_parameter")               \
  X(kTypedParameter, "typed_parameter")                   \
  X(kTypedDefaultParameter, "typed_default_parameter")    \
  X(kListSplatPattern, "list_splat_pattern")              \
  X(kDictionarySplatPattern, "dictionary_splat_pattern")  \
  X(kBlock, "block")                                      \
  X(kIdentifier, "identifier")                            \
  X(kAttribute, "attribute")                              \
  X(kSubscript, "subscript")                              \
  X(kSlice, "slice")                                      \
  X(kCall, "call")                                        \
  X(kArgumentList, "argument_list")                       \
  X(kKeywordArgument, "keyword_argument")                 \
  X(kListSplat, "list_splat")                             \
  X(kDictionarySplat, "dictionary_splat")                 \
  X(kString, "string")                                    \
  X(kStringStart, "string_start")                         \
  X(kStringContent, "string_content")                     \
  X(kStringEnd, "string_end")                             \
  X(kInterpolation, "interpolation")                      \
  X(kEscapeSequence, "escape_sequence")                   \
  X(kConcatenatedString, "concatenated_string")           \
  X(kInteger, "integer")                                  \
  X(kFloat, "float")                                      \
  X(kTrue, "true")                                        \
  X(kFalse, "false")                                      \
  X(kNone, "none")                                        \
  X(kEllipsis, "ellipsis")                                \
  X(kList, "list")                                        \
  X(kTuple, "tuple")                                      \
  X(kSet, "set")                                          \
  X(kDictionary, "dictionary")                            \
  X(kPair, "pair")                                        \
  X(kListComprehension, "list_comprehension")             \
  X(kDictionaryComprehension, "dictionary_comprehension") \
  X(kSetComprehension, "set_comprehension")               \
  X(kGenerator, "generator_expression")                   \
  X(kForIn, "for_in_clause")                              \
  X(kIfClause, "if_clause")                               \
  X(kLambda, "lambda")                                    \
  X(kConditional, "conditional_expression")               \
  X(kBooleanOperator, "boolean_operator")                 \
  X(kNotOperator, "not_operator")                         \
  X(kComparison, "comparison_operator")                   \
  X(kBinaryOperator, "binary_operator")                   \
  X(kUnaryOperator, "unary_operator")                     \
  X(kParenthesized, "parenthesized_expression")           \
  X(kExpressionList, "expression_list")                   \
  X(kPatternList, "pattern_list")                         \
  X(kTuplePattern, "tuple_pattern")                       \
  X(kListPattern, "list_pattern")                         \
  X(kAwait, "await")                                      \
  X(kYield, "yield")                                      \
  X(kType, "type")

#define TORCHPORT_FIELDS(X)        \
  X(kName, "name")                 \
  X(kAlias, "alias")               \
  X(kModuleName, "module_name")    \
  X(kLeft, "left")                 \
  X(kRight, "right")               \
  X(kFieldType, "type")            \
  X(kObject, "object")             \
  X(kAttributeName, "attribute")   \
  X(kFunctionPart, "function")     \
  X(kArguments, "arguments")       \
  X(kValue, "value")               \
  X(kKey, "key")                   \
  X(kBody, "body")                 \
  X(kCondition, "condition")       \
  X(kConsequence, "consequence")   \
  X(kAlternative, "alternative")   \
  X(kSuperclasses, "superclasses") \
  X(kParametersPart, "parameters") \
  X(kReturnType, "return_type")    \
  X(kDefinition, "definition")     \
  X(kOperator, "operator")         \
  X(kOperators, "operators")       \
  X(kArgument, "argument")         \
  X(kSubscriptPart, "subscript")   \
  X(kExpression, "expression")     \
  X(kCause, "cause")               \
  X(kSubject, "subject")

enum class Kind : std::uint8_t {
  kOther = 0,  // any kind without an entry above, including operators
#define TORCHPORT_ENUMERATOR(name, text) name,
  TORCHPORT_KINDS(TORCHPORT_ENUMERATOR)
#undef TORCHPORT_ENUMERATOR
      kCount
};

enum class Field : std::uint8_t {
  kNone = 0,
#define TORCHPORT_ENUMERATOR(name, text) name,
  TORCHPORT_FIELDS(TORCHPORT_ENUMERATOR)
#undef TORCHPORT_ENUMERATOR
};

[[nodiscard]] std::string_view kind_name(Kind kind);

// Whether such nodes may stand anywhere and mean nothing.
[[nodiscard]] inline bool is_extra(Kind kind) {
  return kind == Kind::kComment || kind == Kind::kContinuation;
}

}  // namespace torchport::syntax
