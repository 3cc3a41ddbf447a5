// Package score orders the servers of a pool for a request.
//
// It owns the scores, their weights, the bounds of overload, and the decision to shed. It must never know Envoy, how
// load is measured, or how prefixes are matched. It is pure; the source of random numbers is passed.
//
// Each server gets scores from 0 to 1, and the weighted sum orders them:
//
//	prefix     the part of the prompt that the server knows; 0 if the server is overloaded
//	queue      few requests wait, compared with the other servers
//	kv-cache   much of the KV cache is free
//	adapter    the model is loaded 1, there is room to load it 0.8, it waits to be loaded 0.6, neither 0
//	in-flight  the picker itself sent few requests that go on, compared with the other servers
//
// By default the prefix weighs more than all kinds of load together. So a conversation stays where its prefix is until
// that server is overloaded. The adapters' scores are those that the Gateway API Inference Extension publishes for its
// lora-affinity-scorer. If nothing is known of any server, the less loaded one of two random ones is first.
//
// Start reading at Config.RankServers.
package score
