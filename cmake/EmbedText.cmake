# Writes OUT: the text of FILE as one C++ raw string literal.
file(READ ${FILE} text)
file(WRITE ${OUT} "R\"torchport_text(${text})torchport_text\"\n")
