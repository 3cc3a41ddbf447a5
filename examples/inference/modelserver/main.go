// Command modelserver is a model server without a model (package simulator), for examples and tests of pickers.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"cardea.dev/cardea/examples/inference/simulator"
)

func main() {
	set := simulator.Defaults()
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on")
	adapters := flag.String("adapters", "", "names of LoRA adapters, with commas")
	flag.StringVar(&set.Name, "name", "", "header x-model-server of answers (default: the address)")
	flag.StringVar(&set.Model, "model", set.Model, "name of the model")
	flag.IntVar(&set.MaxAdapters, "max-adapters", set.MaxAdapters, "adapters that can be loaded at a time")
	flag.IntVar(&set.Concurrency, "concurrency", set.Concurrency, "requests that are worked on at a time; others wait")
	flag.IntVar(&set.CacheBlocks, "cache-blocks", set.CacheBlocks, "blocks that the prefix cache has, of 16 tokens each")
	flag.DurationVar(&set.Start, "start", set.Start, "time before the first token, whatever is cached")
	flag.DurationVar(&set.Prefill, "prefill", set.Prefill, "time for a token of a prompt that is not cached")
	flag.DurationVar(&set.Decode, "decode", set.Decode, "time for a token of an answer")
	flag.DurationVar(&set.Load, "load", set.Load, "time to load an adapter")
	flag.IntVar(&set.Tokens, "tokens", set.Tokens, "tokens of an answer, if the request does not say")
	flag.Parse()
	if *adapters != "" {
		set.Adapters = strings.Split(*adapters, ",")
	}
	if err := run(*listen, set); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

func run(listen string, set simulator.Settings) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	if set.Name == "" {
		set.Name = l.Addr().String()
	}
	fmt.Println("simulated model server at", l.Addr())
	server := &http.Server{Handler: simulator.New(set).Handler()}
	go func() {
		<-ctx.Done()
		server.Close()
	}()
	if err := server.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}
