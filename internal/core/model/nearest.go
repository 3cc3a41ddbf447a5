package model

import (
	"fmt"
	"strings"
)

// Nearest finds the known name that a misspelt one probably means, without regard to case; "" if none is close.
func Nearest(name string, known []string) string {
	best, limit := "", 2+max(0, len(name)-2)/3
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < limit || d == limit && best != "" && k < best {
			best, limit = k, d
		}
	}
	return best
}

// Meant tells which of the known names may have been meant by one that is none of them, to stand behind what is said of
// it: "; did you mean web?", or which there are; "" if there are none.
func Meant(name string, known []string) string {
	if near := Nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	if len(known) == 0 {
		return ""
	}
	return "; there is " + Listed(known)
}

// maxListed is how many things a message names of a list.
const maxListed = 6

// Listed names a few of a list, and says how many more there are.
func Listed(list []string) string {
	if n := len(list) - maxListed; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:maxListed], ", "), n)
	}
	return strings.Join(list, ", ")
}

// distance is the number of letters to insert, delete or replace between two words.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
