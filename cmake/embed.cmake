# cmake -DOUTPUT=F "-DINPUTS=A;B" -P embed.cmake: each text as a string literal of C++ with a comma behind it.
set(literals "")
foreach(input ${INPUTS})
  file(READ ${input} text)
  string(APPEND literals "R\"octavo(${text})octavo\",\n")
endforeach()
file(WRITE ${OUTPUT} "${literals}")
