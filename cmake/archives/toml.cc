// SPDX-License-Identifier: Apache-2.0
//
// toml++ without its headers, which are all that who uses it compiles.
#define TOML_IMPLEMENTATION
#include <toml++/toml.h>
