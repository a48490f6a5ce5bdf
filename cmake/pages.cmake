# cmake -DEXHUME=PROGRAM -DSHARE=FOLDER -P pages.cmake: manual pages and completion as they are installed under share/.
set(completions bash:bash-completion/completions/exhume zsh:zsh/site-functions/_exhume
    fish:fish/vendor_completions.d/exhume.fish)
file(REMOVE_RECURSE ${SHARE})
file(MAKE_DIRECTORY ${SHARE}/man/man1)
execute_process(COMMAND ${EXHUME} man --quiet --out ${SHARE}/man/man1 COMMAND_ERROR_IS_FATAL ANY)
foreach(entry ${completions})
  string(REPLACE ":" ";" entry ${entry})
  list(GET entry 0 shell)
  list(GET entry 1 path)
  get_filename_component(folder ${SHARE}/${path} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND ${EXHUME} completion ${shell} OUTPUT_FILE ${SHARE}/${path} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
