package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Agent is a program that makes a session with a server of MCP: the URL follows its command, and CA, CERT, KEY and
// ADDRESS in its environment mean what they mean in examples/agents/mcp. What each line of its input says is done, and
// a line tells what came of it.
type Agent struct {
	Name    string
	Command []string
	Env     []string
	// Files are what it needs of the machine, in the form of paths.
	Files []string
}

// Agents are clients made with the SDKs of three languages.
func Agents(t testing.TB) []Agent {
	t.Helper()
	folder := Fetched(t, "mcp")
	python := filepath.Join(folder, "python", "bin", "python")
	base, err := exec.Command(python, "-c", "import sys; print(sys.base_prefix)").Output()
	if err != nil {
		t.Fatal(err)
	}
	script := Source(t, "internal/test/e2e/parts/python/call.py")
	return []Agent{
		GoAgent(t), nodeProgram(t, "call.mjs"), {
			Name: "Python", Command: []string{python, script}, Files: []string{script, folder, strings.TrimSpace(string(base))},
		},
	}
}

// TypeScript2Agents are clients made with the second version of the TypeScript SDK: in its default mode, and where it
// may choose the protocol of 2026-07-28.
func TypeScript2Agents(t testing.TB) (list []Agent) {
	t.Helper()
	for _, mode := range []string{"2", "2-auto"} {
		agent := nodeProgram(t, "call.mjs")
		agent.Name += "-" + mode
		agent.Env = append(agent.Env, "SDK="+mode)
		list = append(list, agent)
	}
	return list
}

// GoAgent is the client of examples/agents/mcp.
func GoAgent(t testing.TB) Agent {
	t.Helper()
	program := Built(t, "examples/agents/mcp")
	return Agent{Name: "Go", Command: []string{program, "call"}, Files: []string{program}}
}

// ReferenceServer is "server-everything": it prints its address, and takes messages at /mcp. With PORT in its
// environment it listens there.
func ReferenceServer(t testing.TB) Agent {
	t.Helper()
	return nodeProgram(t, "serve.mjs")
}

// nodeProgram is a program of parts/typescript.
func nodeProgram(t testing.TB, name string) Agent {
	t.Helper()
	folder := Fetched(t, "mcp")
	out, err := exec.Command("node", "-p", "process.execPath").Output()
	if err != nil {
		t.Fatal(err)
	}
	node := strings.TrimSpace(string(out))
	script := Source(t, "internal/test/e2e/parts/typescript/"+name)
	return Agent{
		Name: "TypeScript", Command: []string{node, script}, Env: []string{"MODULES=" + folder},
		Files: []string{node, script, folder},
	}
}

// Run is a command that runs it here.
func (a Agent) Run(t testing.TB, args ...string) *exec.Cmd {
	command := exec.CommandContext(t.Context(), a.Command[0], slices.Concat(a.Command[1:], args)...)
	command.Env = slices.Concat(os.Environ(), a.Env)
	return command
}
