package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"cardea.dev/cardea/internal/admin"
	"cardea.dev/cardea/internal/explain"
	"cardea.dev/cardea/internal/model"
	"cardea.dev/cardea/internal/standalone"
)

type explainOptions struct {
	question               explain.Question
	namespace, dir, output string
	server                 string
	offline                standalone.Options
}

func explainCommand(p Program) *cobra.Command {
	o := explainOptions{offline: standalone.Options{Dialects: p.Dialects}}
	cmd := &cobra.Command{
		Use:   "explain [METHOD] URL | KIND/NAME",
		Short: "Tell where a request goes and why, or what became of an object",
		Long: `Tell the way of one request as it is rendered now: Gateway, listener, the rule that takes it (object, file and line), what is done to it, who
answers and in which shares, since when that is live and who edited it last; and why not: the rules that might have been expected to take it.

For KIND/NAME: what the object turned into, what it looks at, its findings, and the times of its last edit on the way to the proxies.

The running program at --server is asked; with --dir the files of a folder are read, and nothing needs to run.`,
		Example: `  cardea explain http://quickstart.localhost:8080/green

  # A whole request
  cardea explain https://shop.example/cart -X POST -H 'x-canary: yes' --sni shop.example

  # Of files
  cardea explain http://quickstart.localhost:8080/ --dir examples/quickstart

  # An object
  cardea explain httproute/quickstart -n quickstart`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 && !isRequest(args) {
				return fmt.Errorf("name one URL, or one object as KIND/NAME: %s", cmd.UseLine())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if isRequest(args) {
				o.question.Method = args[0]
			}
			return runExplain(cmd, p, &o, args[len(args)-1])
		},
	}
	names := func(cmd *cobra.Command, n admin.KindNames) []string { return o.names(cmd, p, n) }
	cmd.ValidArgsFunction = completeExplain(names)
	f := cmd.Flags()
	f.StringVarP(&o.question.Method, "request", "X", "", "method of the request (GET)")
	f.StringArrayVarP(&o.question.Headers, "header", "H", nil,
		"header of the request, 'name: value'; may be given several times")
	f.StringVar(&o.question.SNI, "sni", "", "server name of the TLS handshake (the URL's host)")
	f.StringVar(&o.question.Gateway, "gateway", "",
		"the Gateway that gets the request (NAMESPACE/NAME), where several have its port")
	f.StringVarP(&o.namespace, "namespace", "n", "default", "namespace of the object")
	f.StringVar(&o.dir, "dir", "", "read this folder (or file) instead of asking a running program")
	f.StringVar(&o.server, "server", "", "address of the admin API ($CARDEA_SERVER, else http://"+admin.DefaultAddr+")")
	f.StringVarP(&o.output, "output", "o", "text", "text or json")
	bindFlags(cmd, &o.offline)
	completeFlagBy(cmd, "namespace", completeNamespace(names))
	completeFlag(cmd, "output", "text", "json")
	completeFlag(cmd, "server", "http://"+admin.DefaultAddr)
	return cmd
}

// isRequest tells whether the arguments are a method and a URL, as `cardea diff` tells requests.
func isRequest(args []string) bool {
	return len(args) == 2 && !strings.ContainsAny(args[0], "/:") && strings.Contains(args[1], "://")
}

// printer is a story.
type printer interface {
	Print(w io.Writer, now time.Time) error
}

func runExplain(cmd *cobra.Command, p Program, o *explainOptions, what string) error {
	if o.output != "text" && o.output != "json" {
		return fmt.Errorf("-o %q: want text or json", o.output)
	}
	if o.dir != "" && o.server != "" {
		return errors.New("--dir reads files, --server asks a running Cardea: which one?")
	}
	var story printer
	var err error
	if kind, name, isObject := strings.Cut(what, "/"); isObject && !strings.Contains(what, "://") {
		story, err = explainObject(cmd, p, o, kind, name)
	} else if !strings.Contains(what, "://") {
		return fmt.Errorf("%q is no URL (want a whole one, such as http://shop.example/cart), and no object (KIND/NAME)",
			what)
	} else {
		o.question.URL = what
		story, err = explainRequest(cmd, p, o)
	}
	if err != nil {
		return err
	}
	if o.output == "json" {
		encoder := json.NewEncoder(cmd.OutOrStdout())
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(story)
	}
	return story.Print(cmd.OutOrStdout(), time.Now())
}

func explainRequest(cmd *cobra.Command, p Program, o *explainOptions) (story explain.Story, err error) {
	if o.dir != "" {
		e, err := o.explainer(cmd, p)
		if err != nil {
			return story, err
		}
		return e.Request(o.question)
	}
	q := o.question
	values := url.Values{"url": {q.URL}, "header": q.Headers}
	for name, value := range map[string]string{"method": q.Method, "sni": q.SNI, "gateway": q.Gateway} {
		if value != "" {
			values.Set(name, value)
		}
	}
	return story, o.ask(cmd.Context(), "/explain?"+values.Encode(), &story)
}

func explainObject(
	cmd *cobra.Command, p Program, o *explainOptions, kind, name string,
) (story explain.Object, err error) {
	n, known := admin.KindNamed(kind)
	if !known {
		return story,
			fmt.Errorf("%q is no kind (`cardea get` lists the kinds), and no URL: a URL begins with http:// or https://", kind)
	}
	if name == "" {
		return story, noName(kind)
	}
	namespace := o.namespace
	if !n.Namespaced {
		namespace = ""
	}
	if o.dir != "" {
		e, err := o.explainer(cmd, p)
		if err != nil {
			return story, err
		}
		story, found := e.Object(model.Ref(n.Kind, namespace, name))
		if !found {
			return story, fmt.Errorf("%s holds no %s %q in namespace %q", o.dir, n.Kind, name, namespace)
		}
		return story, nil
	}
	words := []string{"explain", n.Plural}
	if namespace != "" {
		words = append(words, namespace)
	}
	return story, o.ask(cmd.Context(), join(append(words, name)), &story)
}

// explainer reads the folder.
func (o *explainOptions) explainer(cmd *cobra.Command, p Program) (admin.Explainer, error) {
	if err := offline(cmd, o.dir, &o.offline); err != nil {
		return nil, err
	}
	return p.Explainer(cmd.Context(), o.offline)
}

func (o *explainOptions) ask(ctx context.Context, path string, story any) error {
	text, err := newClient(o.server, os.Getenv("CARDEA_SERVER")).ask(ctx, path)
	if err != nil {
		return err
	}
	return read(text, story)
}
