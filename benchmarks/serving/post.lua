-- Posts one prepared body; arguments: its file, its headers as NAME=VALUE.
function init(args)
  local file = io.open(args[1], "rb")
  wrk.method = "POST"
  wrk.body = file:read("*a")
  file:close()
  for i = 2, #args do
    local name, value = args[i]:match("^([^=]+)=(.*)$")
    wrk.headers[name] = value
  end
end

function done(summary, latency, requests)
  local bad = summary.errors.status + summary.errors.connect + summary.errors.read
    + summary.errors.write + summary.errors.timeout
  io.write(string.format("RESULT %f %f %f %d\n",
    summary.requests / (summary.duration / 1e6),
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, bad))
end
