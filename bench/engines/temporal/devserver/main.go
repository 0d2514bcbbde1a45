// Command devserver is Temporal's development server on a file, as `temporal server start-dev --db-filename` sets it up: all four services
// in one process on the loopback, one history shard, SQLite, no web page. It is built from the server's own module, since the
// command-line tool's newest module cannot be built from the module proxy alone (it replaces a module of its own by a folder).
//
// It is a module of its own because the server's dependencies are many and old. The bench builds it when it first needs it.
//
//	devserver -db FILE -port N [-pragma name=value]...
//
// It runs until its standard input ends, so that it never outlives whoever started it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
	schema "go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
)

const (
	loopback = "127.0.0.1"
	name     = "active" // of the one cluster
	store    = "file"
)

func main() {
	db := flag.String("db", "", "the database `file`; it must not exist")
	port := flag.Int("port", 0, "the frontend's `port`")
	pragmas := map[string]string{}
	flag.Func("pragma", "a pragma of SQLite, `name=value`", func(text string) error {
		key, value, found := strings.Cut(text, "=")
		if !found {
			return errors.New("want name=value")
		}
		pragmas[key] = value
		return nil
	})
	flag.Parse()
	if err := serve(*db, *port, pragmas); err != nil {
		fmt.Fprintln(os.Stderr, "devserver:", err)
		os.Exit(1)
	}
}

// serve serves until standard input ends.
func serve(db string, port int, pragmas map[string]string) error {
	settings, err := configure(db, port, pragmas)
	if err != nil {
		return err
	}
	hosts := map[primitives.ServiceName]static.Hosts{}
	for service, s := range settings.Services {
		hosts[primitives.ServiceName(service)] = static.SingleLocalHost(fmt.Sprintf("%s:%d", loopback, s.RPC.GRPCPort))
	}
	server, err := temporal.NewServer(
		temporal.WithConfig(settings),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(hosts),
		temporal.WithLogger(log.NewZapLogger(log.BuildZapLogger(log.Config{Level: "error", Stdout: false}))),
		temporal.WithDynamicConfigClient(dynamicconfig.StaticClient{
			// What start-dev sets.
			dynamicconfig.HistoryCacheHostLevelMaxSize.Key():                        8096,
			dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key():        100,
			dynamicconfig.MakeKey("frontend.persistenceMaxQPS"):                     10000,
			dynamicconfig.MakeKey("history.persistenceMaxQPS"):                      45000,
			dynamicconfig.MakeKey("system.forceSearchAttributesCacheRefreshOnRead"): true,
		}),
	)
	if err != nil {
		return fmt.Errorf("making the server: %w", err)
	}
	if err := server.Start(); err != nil {
		return fmt.Errorf("starting the server: %w", err)
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, server.Stop())
}

// configure returns the server's settings, with the database made.
func configure(db string, port int, pragmas map[string]string) (*config.Config, error) {
	file := &config.SQL{PluginName: sqlite.PluginName, DatabaseName: db, ConnectAttributes: map[string]string{"mode": "rwc"}}
	for key, value := range pragmas {
		file.ConnectAttributes[key] = value
	}
	if err := schema.SetupSchema(file); err != nil {
		return nil, fmt.Errorf("making the tables in %s: %w", db, err)
	}
	namespace, err := schema.NewNamespaceConfig(name, "default", false, nil)
	if err != nil {
		return nil, fmt.Errorf("describing the namespace: %w", err)
	}
	if err := schema.CreateNamespaces(file, namespace); err != nil {
		return nil, fmt.Errorf("making the namespace: %w", err)
	}
	settings := &config.Config{}
	settings.Global.Membership = config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: loopback}
	settings.Persistence = config.Persistence{
		DefaultStore: store, VisibilityStore: store, NumHistoryShards: 1, DataStores: map[string]config.DataStore{store: {SQL: file}},
	}
	frontend := fmt.Sprintf("%s:%d", loopback, port)
	settings.ClusterMetadata = &cluster.Config{
		FailoverVersionIncrement: 10, MasterClusterName: name, CurrentClusterName: name,
		ClusterInformation: map[string]cluster.ClusterInformation{name: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: frontend}},
	}
	settings.DCRedirectionPolicy.Policy = "noop"
	settings.Archival.History.State, settings.Archival.Visibility.State = "disabled", "disabled"
	settings.NamespaceDefaults.Archival.History.State, settings.NamespaceDefaults.Archival.Visibility.State = "disabled", "disabled"
	settings.PublicClient.HostPort = frontend
	settings.Services = map[string]config.Service{}
	for _, service := range temporal.DefaultServices {
		rpc := config.RPC{GRPCPort: port, BindOnIP: loopback}
		if service != string(primitives.FrontendService) {
			if rpc.GRPCPort, err = free(); err != nil {
				return nil, err
			}
		}
		settings.Services[service] = config.Service{RPC: rpc}
	}
	return settings, nil
}

// free returns a port of the loopback that nobody listens on.
func free() (int, error) {
	l, err := net.Listen("tcp", loopback+":0")
	if err != nil {
		return 0, fmt.Errorf("looking for a free port: %w", err)
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}
