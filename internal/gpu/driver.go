package gpu

import "strings"

// systemCall begins the names by which the device runtime calls the driver.
const systemCall = "__cuda_syscall"

// driverFunctions are functions that the driver defines, with the release that has them
// first. nvlink and libnvvm take them for defined; test/tools/driverfunctions finds them by
// asking nvlink.
var driverFunctions = map[string]Release{
	"__assertfail": {}, "free": {}, "malloc": {}, "vprintf": {},

	// for programs that change the graph that they run in
	"cudaGraphKernelNodeSetEnabled": {}, "cudaGraphKernelNodeSetGridDim": {}, "cudaGraphKernelNodeSetParam": {},
	"cudaGraphKernelNodeUpdatesApply": {}, "cudaGraphLaunch": {}, "cudaGraphSetConditional": {},

	"cudaFabricOpErrorStatusCount": {13, 3}, "cudaFabricOpErrorStatusGet": {13, 3},

	// called by libcudadevrt
	"cnpCtxSynchronize": {}, "cnpDeviceGetAttribute": {}, "cnpEventCreate": {}, "cnpEventDestroy": {},
	"cnpEventRecord": {}, "cnpFuncGetAttribute": {}, "cnpGetCacheConfig": {}, "cnpGetDevice": {},
	"cnpGetDeviceCount": {}, "cnpGetLastError": {}, "cnpGetLimit": {}, "cnpGetParameterBuffer": {},
	"cnpGetParameterBufferV2": {}, "cnpGetSharedMemConfig": {}, "cnpLaunchDevice": {}, "cnpLaunchDeviceV2": {},
	"cnpSetLastError": {}, "cnpStreamCreate": {}, "cnpStreamDestroy": {}, "cnpStreamWaitEvent": {},
}

// DriverDefines reports whether the driver defines a function, so that a program may call
// it that does not define it.
func (r Release) DriverDefines(function string) bool {
	since, known := driverFunctions[function]
	return (known && !r.Before(since)) || strings.HasPrefix(function, systemCall)
}
