package model

import (
	"fmt"
	"strings"
)

// NearestName finds the known name that a misspelt one probably means, without regard to case; "" if none is close.
func NearestName(name string, known []string) string {
	best, limit := "", 2+max(0, len(name)-2)/3
	for _, k := range known {
		if d := editDistance(strings.ToLower(name), strings.ToLower(k)); d < limit || d == limit && best != "" && k < best {
			best, limit = k, d
		}
	}
	return best
}

// SuggestNames tells which of the known names may have been meant by one that is none of them, to stand behind what is
// said of it: "; did you mean web?", or which there are; "" if there are none.
func SuggestNames(name string, known []string) string {
	if near := NearestName(name, known); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	if len(known) == 0 {
		return ""
	}
	return "; there is " + JoinSome(known)
}

// maxJoined is how many things a message names of a list.
const maxJoined = 6

// JoinSome names a few of a list, and says how many more there are.
func JoinSome(list []string) string {
	if n := len(list) - maxJoined; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:maxJoined], ", "), n)
	}
	return strings.Join(list, ", ")
}

// editDistance is the number of letters to insert, delete or replace between two words.
func editDistance(a, b string) int {
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

// JoinChoices lists words to choose from: "a, b or c".
func JoinChoices[S ~string](list []S) string {
	text := ""
	for i, s := range list {
		switch {
		case i == 0:
		case i == len(list)-1:
			text += " or "
		default:
			text += ", "
		}
		text += string(s)
	}
	return text
}
