// SPDX-FileCopyrightText: 2026 The gr-mimopack authors
// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef MIMOPACK_SOAPY_TEXT_H
#define MIMOPACK_SOAPY_TEXT_H

#include <cstdio>
#include <stdexcept>
#include <string>

namespace mimopack {

inline std::string text_of(double value)
{
    char text[40];
    std::snprintf(text, sizeof(text), "%.12g", value);
    return text;
}

//! Throw an error that gives the name of a value, the value and the allowed values.
[[noreturn]] inline void
refuse(const std::string& what, const std::string& got, const std::string& allowed)
{
    throw std::invalid_argument(what + ": got " + got + ", allowed is " + allowed);
}

inline std::string quoted(const std::string& text) { return "\"" + text + "\""; }

} // namespace mimopack

#endif
