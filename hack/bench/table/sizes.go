package table

import (
	"errors"
	"flag"
	"strconv"
	"strings"
)

// SizesFlag adds the flag -routes, which replaces Sizes.
func SizesFlag() *[]int {
	sizes := Sizes
	flag.Func("routes", "increasing numbers of routes, separated by commas (default 1000,10000)",
		func(text string) (err error) {
			sizes, err = Numbers(text)
			return err
		})
	return &sizes
}

// Numbers reads increasing numbers, separated by commas.
func Numbers(text string) (list []int, err error) {
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, err
		}
		if len(list) > 0 && n <= list[len(list)-1] || n < 1 {
			return nil, errors.New("want increasing numbers")
		}
		list = append(list, n)
	}
	return list, nil
}
