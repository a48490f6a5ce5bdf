// What a sentence says of columns by number, said by name too.
#pragma once

#include <string>
#include <vector>

namespace exhume {

// "inputs: column 2 (counting from 0) is constant" with the inputs a, b, age becomes
// "inputs: column 'age' (2, counting from 0) is constant"; "input 3 counts the rows" becomes
// "input 3 ('age') counts the rows". Numbers without a name stay as they are.
[[nodiscard]] std::string with_column_names(const std::string& sentence,
                                            const std::vector<std::string>& inputs,
                                            const std::vector<std::string>& outputs);

}  // namespace exhume
