// Command cardea runs gateways. See package cardea.
package main

import "cardea.dev/cardea"

func main() { cardea.Main(cardea.Builtin()...) }
