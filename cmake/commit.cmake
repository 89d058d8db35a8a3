# SPDX-FileCopyrightText: 2026 The gr-mimopack authors
# SPDX-License-Identifier: GPL-3.0-or-later

# Write a Python module with the commit of the sources:
#   cmake -DSOURCE=FOLDER -DOUTPUT=FILE.py -P commit.cmake
# Sources without git have the commit that the environment variable MIMOPACK_COMMIT names, or none.

set(commit "$ENV{MIMOPACK_COMMIT}")
if(EXISTS ${SOURCE}/.git)
  find_package(Git QUIET)
  execute_process(
    COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
    RESULT_VARIABLE failed
    OUTPUT_VARIABLE described
    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT failed)
    set(commit "${described}")
  endif()
endif()
set(value None)
if(commit MATCHES "^[0-9A-Za-z.+~-]+$")
  set(value "\"${commit}\"")
endif()
set(text "# The build writes this file.\nCOMMIT = ${value}\n")
set(before "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} before)
endif()
if(NOT text STREQUAL before)
  file(WRITE ${OUTPUT} "${text}")
endif()
