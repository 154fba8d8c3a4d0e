// Package kvevents tells routers what is in the caches: engine effects become vLLM's KV events, as msgpack over ZMQ
// (spec engine-core §10.4), and forward-pass metrics over ZMQ or as JSON lines (§10.3). Nothing else in fakellm knows
// ZMQ.
//
// [Events] and [Passes] are engine sinks: their methods run in the loop that paces tokens, so they only encode and hand
// over. Sockets queue at most a high-water mark of batches; what a slow subscriber misses it can ask for again at the
// replay socket, which answers from a ring.
package kvevents
