// Package measure runs networks and measures them: [Run] takes a [core.Fabric] through warm-up,
// window, drain and audit, and judges whether it keeps up ([Evidence]); [RunToEnd] runs a source
// of finitely many packets. The [Meter] measures the packets of the window, and [OpenLoop] is the
// workload whose packets are born regardless of what becomes of them.
package measure
