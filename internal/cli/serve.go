package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"fakellm/config"
	"fakellm/internal/assembly"
)

func newServe(env Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve [MODEL]",
		Short: "Answer like an OpenAI-compatible server, paced by a simulated engine",
		Long: "serve listens on http://127.0.0.1:8000 and answers any model name. It needs no network, no GPU and no other\n" +
			"service. Every flag has an environment twin: --max-num-seqs is FAKELLM_MAX_NUM_SEQS.",
		Example: "  fakellm serve --hello\n" +
			"  fakellm serve meta-llama/Llama-3.1-8B-Instruct --gpu h100_sxm --port 0\n" +
			"  fakellm serve --timing fixed --prefill-ms 200 --decode-ms 20 --max-num-seqs 8\n" +
			"  fakellm serve --fast                       # no waiting at all, scheduling unchanged",
		Args: oneArg,
	}
	load := settings(cmd, env, config.Fields(), assembly.Check)
	hello := cmd.Flags().Bool("hello", false, "stream one chat answer to yourself first, print it with its timing, keep serving")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := load(args)
		if err != nil {
			return err
		}
		return serve(cmd.Context(), env, &c, *hello)
	}
	return cmd
}

// serve runs a server until a signal, then drains it.
func serve(ctx context.Context, env Env, c *config.Config, hello bool) error {
	log, err := logger(env.Stderr, c)
	if err != nil {
		return badInput(err)
	}
	signals, stop := signalSource(env)
	defer stop()
	s, err := assembly.NewServer(c, assembly.Options{Version: env.Version, Log: log})
	if op := new(net.OpError); errors.As(err, &op) {
		return err // a port that somebody else holds is no bad input
	}
	if err != nil {
		return badInput(err)
	}
	defer func() { _ = s.Close() }()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(c.Host, strconv.Itoa(c.Port)))
	if err != nil {
		return fmt.Errorf("host %s, port %d: %w", c.Host, c.Port, err)
	}
	base, here := addresses(c.Host, l.Addr())
	if _, err := fmt.Fprintf(env.Stdout, "fakellm %s listening on %s (%s)\n", env.Version, base, s.Describe()); err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(l) }()
	if hello {
		if err := sayHello(ctx, env.Stdout, here, c); err != nil {
			return fmt.Errorf("hello: %w", err)
		}
	}
	select {
	case err := <-failed:
		return err
	case <-signals:
	}
	return drain(env, c, s, signals)
}

// addresses are the base URL of a server as its host was given, and one that a client on this machine can use.
func addresses(host string, l net.Addr) (base, here string) {
	at, ok := l.(*net.TCPAddr)
	if !ok {
		base = "http://" + l.String()
		return base, base
	}
	if host == "" {
		host = "0.0.0.0"
	}
	port := strconv.Itoa(at.Port)
	base = "http://" + net.JoinHostPort(host, port)
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		return base, "http://" + net.JoinHostPort("127.0.0.1", port)
	}
	return base, base
}

// drain ends a server gracefully; a second signal ends it at once.
func drain(env Env, c *config.Config, s *assembly.Server, signals <-chan os.Signal) error {
	_, _ = fmt.Fprintf(env.Stderr, "fakellm: finishing open streams (at most %s; signal again to stop now)\n", c.DrainTimeout)
	ctx, cancel := context.WithTimeout(context.Background(), c.DrainTimeout)
	defer cancel()
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	n := s.Drain(ctx)
	_ = s.Close() // what it could not write is among Lost
	_, err := fmt.Fprintf(env.Stdout, "fakellm: served %d requests: %d completed, %d cancelled, %d refused, %d cut off; %d tokens\n",
		n.Requests, n.Completed, n.Cancelled, n.Refused, n.Cut, n.Tokens)
	for _, text := range s.Lost() {
		if err == nil {
			_, err = fmt.Fprintf(env.Stdout, "fakellm: %s\n", text)
		}
	}
	return err
}

func signalSource(env Env) (<-chan os.Signal, func()) {
	if env.Signals != nil {
		return env.Signals, func() {}
	}
	c := make(chan os.Signal, 2)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	return c, func() { signal.Stop(c) }
}

func logger(w io.Writer, c *config.Config) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return nil, fmt.Errorf("log_level: %w", err)
	}
	o := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, o)), nil
	}
	return slog.New(slog.NewTextHandler(w, o)), nil
}
