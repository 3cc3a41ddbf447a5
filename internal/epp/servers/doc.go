// Package servers asks model servers how busy they are, by their metrics in Prometheus' format.
//
// It owns the names of the metrics (vLLM, SGLang, Triton with TensorRT-LLM, trtllm-serve, llama.cpp), how often is
// asked, and what an old answer is worth: nothing. It must never know requests, prompts or scores.
//
//	unknown --answer--> known --no answer for Stale--> unknown --no answer for Failures times--> gone
//	   ^                                                                                          |
//	   +------------------------------- it answers again -> known <-------------------------------+
//
// An answer without metrics (404, 401, a redirect to elsewhere) makes a server's load unknown, and never has it gone.
//
// Run starts a fixed number of goroutines; each has one connection at most at a time. Follow and State may be called by
// any goroutine.
//
// Start reading at Scraper.Run, then parse.go.
package servers
