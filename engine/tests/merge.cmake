# Writes the test files SOURCES into one, OUTPUT. The unnamed namespace of each gets a name, because
# two files may give one name to different things.
set(merged "")
foreach(source IN LISTS SOURCES)
  file(READ "${source}" text)
  get_filename_component(name "${source}" NAME_WE)
  string(REPLACE "\nnamespace {\n" "\nnamespace ${name} {\n" text "${text}")
  string(APPEND merged "#line 1 \"${source}\"\n${text}")
endforeach()
file(WRITE "${OUTPUT}" "${merged}")
