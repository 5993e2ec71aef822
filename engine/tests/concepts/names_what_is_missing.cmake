# Compiles incomplete.cc, which must fail, and checks that the message names what is missing.
# cmake -DCOMPILER=... -DENGINE=... -P names_what_is_missing.cmake

execute_process(
  COMMAND ${COMPILER} -std=c++20 -fsyntax-only -I${ENGINE} ${CMAKE_CURRENT_LIST_DIR}/incomplete.cc
  RESULT_VARIABLE failed
  ERROR_VARIABLE message)
if(NOT failed)
  message(FATAL_ERROR "incomplete.cc compiles, though its classes lack functions")
endif()

# GCC: the required expression 'txn.commit()' is invalid
# Clang: 'txn.commit()' would be invalid
foreach(call "M::on_row" "constant.find" "constant.scan" "txn.mark_removed" "txn.end_read"
             "txn.note_miss" "txn.commit" "runtime.waits_for")
  string(REGEX REPLACE "\\." "\\\\." pattern "${call}")
  if(NOT message MATCHES "${pattern}\\([^\n]*(is|would be) invalid")
    message(SEND_ERROR "no error names ${call}(), which a class lacks:\n${message}")
  endif()
endforeach()
