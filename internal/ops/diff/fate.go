package diff

import (
	"slices"
	"strings"
)

// fate is what becomes of a request, in words: of each share of the requests like it who answers, and what is done to
// it.
type fate [][]string

func (f fate) String() string {
	shares := make([]string, len(f))
	for i, words := range f {
		shares[i] = strings.Join(words, ", ")
	}
	return strings.Join(shares, "; ")
}

// with is the same with one more word.
func (f fate) with(word string) fate {
	if len(f) == 0 {
		return fate{{word}}
	}
	return append(f[:len(f)-1:len(f)-1], append(slices.Clone(f[len(f)-1]), word))
}

// contrast is what two fates have of their own, each.
type contrast struct{ before, after string }

// contrastOf leaves out what both have: two requests with equal contrasts tell the same.
func contrastOf(before, after fate) contrast {
	was, is := slices.Concat(before...), slices.Concat(after...)
	was = slices.DeleteFunc(was, func(word string) bool {
		i := slices.Index(is, word)
		if i >= 0 {
			is = slices.Delete(is, i, i+1)
		}
		return i >= 0
	})
	return contrast{strings.Join(was, "\n"), strings.Join(is, "\n")}
}
