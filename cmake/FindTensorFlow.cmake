# SPDX-License-Identifier: Apache-2.0
#
# Finds the TensorFlow that Python3_EXECUTABLE imports. Defines
#   TensorFlow::framework  headers, macros, and libtensorflow_framework
#   TensorFlow::cc         the library of standard ops, for tests
#   TensorFlow_VERSION     such as 2.21.0

find_package(Python3 REQUIRED COMPONENTS Interpreter)
execute_process(
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/tensorflow_info.py
  OUTPUT_VARIABLE _info
  RESULT_VARIABLE _failed)
if(_failed)
  message(FATAL_ERROR "TensorFlow was not found; see the message above.")
endif()
foreach(_key version include_dir library_dir framework cc definitions)
  if(NOT _info MATCHES "(^|\n)${_key}=([^\n]*)")
    message(FATAL_ERROR "tensorflow_info.py printed no ${_key}: ${_info}")
  endif()
  set(_tensorflow_${_key} "${CMAKE_MATCH_2}")
endforeach()
set(TensorFlow_VERSION ${_tensorflow_version})

# pip's build isolation puts TensorFlow into a folder with a random name. The
# compiler sees it through a link with a fixed one, so that ccache recognises
# what it compiled before.
set(_link ${CMAKE_BINARY_DIR}/tensorflow_include)
file(CREATE_LINK ${_tensorflow_include_dir} ${_link} SYMBOLIC)

separate_arguments(_definitions UNIX_COMMAND "${_tensorflow_definitions}")
foreach(_library framework cc)
  add_library(TensorFlow::${_library} SHARED IMPORTED)
  set_target_properties(TensorFlow::${_library} PROPERTIES
    IMPORTED_LOCATION ${_tensorflow_${_library}}
    INTERFACE_INCLUDE_DIRECTORIES ${_link}
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${_link}
    INTERFACE_COMPILE_DEFINITIONS "${_definitions}")
endforeach()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(TensorFlow
  REQUIRED_VARS _tensorflow_framework _link
  VERSION_VAR TensorFlow_VERSION)
