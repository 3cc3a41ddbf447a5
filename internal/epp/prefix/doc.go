// Package prefix guesses which model server has the beginning of a prompt in its cache, from the requests that it was
// sent.
//
// It owns the hashes of blocks and, for each server, a list of the blocks that it saw last. It must never know models'
// tokens, requests or what a match is worth. An Index has a lock of its own: any goroutine may call it.
//
// The method and its figures are those that the Gateway API Inference Extension publishes for its prefix plugin
// (https://gateway-api-inference-extension.sigs.k8s.io/guides/epp-configuration/prefix-aware/): a prompt is cut into
// blocks of 64 bytes; the hash of a block depends on all blocks before it; a server keeps the 31,250 blocks that were
// used last. The plugin looks at the first 256 blocks: all servers that know a system prompt of more than 16 KiB look
// alike to it. Here all of a prompt counts, and blocks become longer: 256 of 64 bytes, 256 of 128 bytes, and so on. So
// 1 MiB has 1,540 blocks.
//
//	prompt   | block 0 | block 1 | block 2 | rest |
//	hashes     h0 = H(model, 0)    h1 = H(h0, 1)    h2 = H(h1, 2)
//
// Start reading at Hasher.HashBlocks, then Index.
package prefix
