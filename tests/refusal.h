// Asserts that a call is refused with an exception of the right type and with the right words.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace exhume {

template <class Error, class Call>
void expect_refused(const Call& call, std::initializer_list<const char*> words) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    const std::string sentence = error.what();
    for (const char* word : words) {
      EXPECT_NE(sentence.find(word), std::string::npos) << "'" << word << "' is not in: " << sentence;
    }
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another type was thrown: " << error.what();
  }
}

}  // namespace exhume
