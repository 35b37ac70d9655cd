//go:build unix

package test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	clusterconfig "go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	sqliteplugin "go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/testing/freeport"
	"go.temporal.io/server/schema/sqlite"
	temporalserver "go.temporal.io/server/temporal"
)

// serveVariable says to the test's own program that it is a Temporal server: the file that it keeps
// everything in, and the ports that it listens on. They stay the same, so that a server that is
// started again does not look for the one before it.
const serveVariable = "TROUPE_TEST_TEMPORAL_SERVER"

// serveIfTold makes this process a Temporal server, if it was started as one.
func serveIfTold() {
	file, text, ok := strings.Cut(os.Getenv(serveVariable), "\n")
	if !ok {
		return
	}
	var ports []int
	err := json.Unmarshal([]byte(text), &ports)
	if err == nil {
		err = serveTemporal(file, ports)
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

var services = []string{"frontend", "history", "matching", "worker"}

// serveTemporal runs a whole Temporal server that keeps everything in a file, until it is
// killed.
func serveTemporal(file string, ports []int) error {
	// What was written outlives the process, whether or not a disk was waited for.
	settings := config.SQL{PluginName: sqliteplugin.PluginName, DatabaseName: file, ConnectAttributes: map[string]string{"mode": "rwc", "_journal_mode": "wal", "_synchronous": "off"}}
	if _, err := os.Stat(file); os.IsNotExist(err) {
		if err := sqlite.SetupSchema(&settings); err != nil {
			return err
		}
	}
	namespace, err := sqlite.NewNamespaceConfig("active", client.DefaultNamespace, false, nil)
	if err == nil {
		err = sqlite.CreateNamespaces(&settings, namespace)
	}
	if err != nil {
		return err
	}
	address := "127.0.0.1:" + strconv.Itoa(ports[0])
	c := &config.Config{
		Persistence: config.Persistence{
			DefaultStore: sqliteplugin.PluginName, VisibilityStore: sqliteplugin.PluginName, NumHistoryShards: 1,
			DataStores: map[string]config.DataStore{sqliteplugin.PluginName: {SQL: &settings}},
		},
		ClusterMetadata: &clusterconfig.Config{
			FailoverVersionIncrement: 10, MasterClusterName: "active", CurrentClusterName: "active",
			ClusterInformation: map[string]clusterconfig.ClusterInformation{"active": {Enabled: true, InitialFailoverVersion: 1, RPCAddress: address}},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		Services:            map[string]config.Service{},
		PublicClient:        config.PublicClient{HostPort: address},
		Archival:            config.Archival{History: config.HistoryArchival{State: "disabled"}, Visibility: config.VisibilityArchival{State: "disabled"}},
		NamespaceDefaults: config.NamespaceDefaults{Archival: config.ArchivalNamespaceDefaults{
			History: config.HistoryArchivalNamespaceDefaults{State: "disabled"}, Visibility: config.VisibilityArchivalNamespaceDefaults{State: "disabled"},
		}},
	}
	c.Global.Membership = config.Membership{MaxJoinDuration: 30 * time.Second, BroadcastAddress: "127.0.0.1"}
	c.Global.Metrics = &metrics.Config{Prometheus: &metrics.PrometheusConfig{ListenAddress: "127.0.0.1:0", HandlerPath: "/metrics"}}
	for i, name := range services {
		c.Services[name] = config.Service{RPC: config.RPC{GRPCPort: ports[i], MembershipPort: ports[len(services)+i], BindOnLocalHost: true}}
	}
	s, err := temporalserver.NewServer(
		temporalserver.WithConfig(c), temporalserver.ForServices(temporalserver.DefaultServices), temporalserver.WithLogger(log.NewNoopLogger()),
		temporalserver.WithDynamicConfigClient(dynamicconfig.StaticClient{
			dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): []dynamicconfig.ConstrainedValue{{Value: true}},
		}),
	)
	if err == nil {
		err = s.Start()
	}
	if err != nil {
		return err
	}
	select {}
}

// A temporalServer is a process that can be killed, and started again where it was.
type temporalServer struct {
	t       *testing.T
	file    string
	ports   []int
	process *exec.Cmd
}

// startTemporal starts a server for as long as the test.
func startTemporal(t *testing.T) *temporalServer {
	t.Helper()
	s := &temporalServer{t: t, file: filepath.Join(t.TempDir(), "temporal.db")}
	for range 2 * len(services) {
		s.ports = append(s.ports, freeport.MustGetFreePort())
	}
	s.run()
	t.Cleanup(s.kill)
	return s
}

func (s *temporalServer) address() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.ports[0]))
}

func (s *temporalServer) run() {
	s.t.Helper()
	ports, err := json.Marshal(s.ports)
	if err != nil {
		s.t.Fatal(err)
	}
	s.process = exec.Command(os.Args[0])
	s.process.Env = append(os.Environ(), serveVariable+"="+s.file+"\n"+string(ports))
	s.process.Stderr = os.Stderr
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
}

func (s *temporalServer) kill() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
}

// connect returns a client, when the server answers.
func (s *temporalServer) connect() client.Client {
	s.t.Helper()
	var c client.Client
	until(s.t, "the server answers", func() bool {
		var err error
		c, err = client.Dial(client.Options{HostPort: s.address(), Logger: quiet{}})
		return err == nil
	})
	s.t.Cleanup(c.Close)
	return c
}

// quiet is the log of clients that see their server go away.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
