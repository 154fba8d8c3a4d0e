// Package reply plans what the simulated model says. A plan is complete before anything is paced: its token ids, the
// text that each of them adds, and how it ends. Stop strings, limits and schemas are applied to the plan.
//
// Everything is pure and seeded: the same request, content and seed, has the same answer, whatever else happens. A
// Planner never changes and is safe for concurrent use. A lower limit on the length cuts the same answer short.
//
// Start reading at Planner.Plan. filler.go writes English of an exact number of tokens, stop.go applies stop strings,
// tools.go, reasoning.go and probs.go do the rest; the folder schema invents JSON that fits a schema.
package reply
