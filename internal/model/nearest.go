package model

import "strings"

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
