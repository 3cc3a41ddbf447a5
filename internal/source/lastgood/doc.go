// Package lastgood keeps the last version that could be used of certificates, authorities and key sets, so that a
// mistake in the next one, or an object that is gone, ends nothing that serves.
//
//	plan.Materials --> Keeper --> input.LastGood, a turn later
//
// A version that the plan uses is kept, be it new or already kept; the others are forgotten. The translation decides
// which object may refer to which, and which version is good. It ends what has expired, and has the clock for that. It
// must never know kinds of objects, nor what is wrong with one. Start reading at Keeper.
package lastgood
