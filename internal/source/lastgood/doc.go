// Package lastgood keeps the last version that could be used of certificates, authorities and key sets, so that a
// mistake in the next one, or an object that is gone, ends nothing that serves.
//
//	plan.Materials --> Keeper --> input.LastGood, a turn later
//
// What the plan uses is kept, be it new or already kept; what it uses no more is forgotten: who may refer to what, and
// which version is good, is the meaning's to say. It ends what has expired, and has the clock for that. It must never
// know kinds of objects, nor what is wrong with one. Start reading at Keeper.
package lastgood
