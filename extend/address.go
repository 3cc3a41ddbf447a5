package extend

// CheckCIDR tells what is wrong with a range of addresses. It is written as 10.0.0.0/8 or 2001:db8::/32.
func CheckCIDR(cidr string) []Problem {
	return collectProblems(func(f problemList) { checkCIDR(f, cidr) })
}

// CheckHeaderName tells what is wrong with the name of a header.
func CheckHeaderName(name string) []Problem {
	return collectProblems(func(f problemList) {
		if !isToken(name) {
			f.addProblem("%q is not the name of a header", name)
		}
	})
}
