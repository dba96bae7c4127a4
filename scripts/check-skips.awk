# Which of the skipped tests could have run. Input: lines "  TEST: REASON"; -v has="words" names what is here: instruction
# sets by the names that Octavo has for them, "models" for the folder of real models, "program" for the built program.
# A reason says "needs WORD" of what it lacks; one that needs what is here is printed, and the exit code is 1.
BEGIN {
  count = split(has, words, " ")
  for (i = 1; i <= count; i++) here[words[i]] = 1
}
match($0, /needs [a-z0-9_]+/) {
  if (substr($0, RSTART + 6, RLENGTH - 6) in here) { print "could have run:" $0; wrong = 1 }
}
END { exit wrong }
