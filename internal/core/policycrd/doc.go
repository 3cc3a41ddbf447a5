// Package policycrd makes kinds of policies, with their CustomResourceDefinitions, from the features that the policies
// have. No Go struct has the fields of a whole policy: a kind's schema is what all policies have (input.PolicyTargets)
// and the schema of each feature. Strangers' features stand under spec.extensions.
//
// The package owns the form of policies: targets that a kind may have, status, columns. It must never know a feature,
// nor what becomes of targets and values. Everything is made once, when a program starts, and does not change. Start
// reading at New.
package policycrd
