package policy

import (
	"fmt"

	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/model"
)

// Level is where a policy stands. A greater level is a narrower one.
type Level uint8

// The levels, from broad to narrow. ListenerSets and delegating routes have their places, and are not served yet.
const (
	LevelClass Level = iota
	LevelGateway
	LevelListenerSet
	LevelListener
	LevelParentRoute
	LevelParentRule
	LevelRoute
	LevelRule
	LevelExtension
	LevelOwn // the fields of the object itself
	LevelBackendRef
	LevelBackend
	LevelPort
	levelCount
)

var levelWords = [levelCount]string{
	LevelClass: "on the GatewayClass", LevelGateway: "on the Gateway", LevelListenerSet: "on the ListenerSet",
	LevelListener: "on the listener", LevelParentRoute: "on the delegating route",
	LevelParentRule: "on the delegating rule", LevelRoute: "on the route", LevelRule: "on the rule",
	LevelExtension: "by the rule's extensionRef", LevelOwn: "the route itself",
	LevelBackendRef: "by the backendRef's extensionRef", LevelBackend: "on the backend",
	LevelPort: "on the backend's port",
}

// String is the level as users are told it.
func (l Level) String() string { return levelWords[l] }

// Source is who states something: a policy at a level, or the object's own fields.
type Source struct {
	Policy   model.ObjectRef // zero: the object's own fields
	Level    Level
	Override bool
}

// String is the source as users are told it.
func (s Source) String() string {
	switch {
	case s.Level == LevelOwn:
		return s.Level.String()
	case s.Override:
		return fmt.Sprintf("%s (override), %s", input.DescribeObject(s.Policy), s.Level)
	}
	return fmt.Sprintf("%s, %s", input.DescribeObject(s.Policy), s.Level)
}

// statement is what one source states of a feature.
type statement struct {
	Source
	JSON              string // "": nothing
	Disable           bool   // broader statements do not count
	DisabledWithOther bool   // Disable names another feature, with which this one is turned off
	Unreadable        bool   // the source can't be read
}

// statements are those of one level, the oldest first.
type statements struct {
	Level Level
	List  []statement
}
