package diff

import (
	"slices"
	"strings"
)

// outcomeWords is what becomes of a request, in words: of each share of the requests like it who answers, and what is
// done to it.
type outcomeWords [][]string

func (f outcomeWords) String() string {
	shares := make([]string, len(f))
	for i, words := range f {
		shares[i] = strings.Join(words, ", ")
	}
	return strings.Join(shares, "; ")
}

// withWord is the same with one more word.
func (f outcomeWords) withWord(word string) outcomeWords {
	if len(f) == 0 {
		return outcomeWords{{word}}
	}
	return append(f[:len(f)-1:len(f)-1], append(slices.Clone(f[len(f)-1]), word))
}

// outcomeDiff is what two fates have of their own, each.
type outcomeDiff struct{ before, after string }

// outcomeDiffOf leaves out what both have: two requests with equal contrasts tell the same.
func outcomeDiffOf(before, after outcomeWords) outcomeDiff {
	was, is := slices.Concat(before...), slices.Concat(after...)
	was = slices.DeleteFunc(was, func(word string) bool {
		i := slices.Index(is, word)
		if i >= 0 {
			is = slices.Delete(is, i, i+1)
		}
		return i >= 0
	})
	return outcomeDiff{strings.Join(was, "\n"), strings.Join(is, "\n")}
}
