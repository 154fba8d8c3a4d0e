package analytic

import "math"

// comm prices communication between the GPUs of a deployment (spec analytic-timing §2.7). Bytes are of the whole
// message.
type comm struct {
	row                   linkRow
	kind                  linkKind
	link, network, domain float64 // bytes/ms, bytes/ms, GPUs
}

func newComm(g *GPU) comm {
	return comm{
		row: linkConstants(g.class, g.kind), kind: g.kind,
		link: g.link(), network: g.Network * 1e6, domain: float64(g.Domain),
	}
}

// allReduce is the time to sum b bytes over g GPUs.
func (c *comm) allReduce(b, g float64) float64 {
	if g <= 1 {
		return 0
	}
	inside, scale := c.beyond(g)
	lg := math.Log2(min(inside, 8))
	return (c.row.t0 + c.row.t1*lg + c.reduceSize(b, inside, lg)) * scale
}

// reduceSize is the part of the all-reduce that depends on the size of the message.
func (c *comm) reduceSize(b, g, lg float64) float64 {
	eta := c.row.eta0 + c.row.eta1*lg
	if c.kind == pcieHost {
		eta = 0.6
		if g != 2 {
			eta = 0.492 / g
		}
	}
	return c.row.step*b/(b+reduceBytes) + 2*b*(g-1)/g/(eta*c.link)
}

// gather is the time of an all-gather, reduce-scatter or all-to-all of b bytes over g GPUs.
func (c *comm) gather(b, g float64) float64 {
	if g <= 1 {
		return 0
	}
	inside, scale := c.beyond(g)
	if c.kind == nvlink {
		return (c.row.gatherT0 + b*(inside-1)/inside/(c.row.gatherEta*c.link)) * scale
	}
	return (c.row.gatherT0 + c.reduceSize(b, inside, math.Log2(min(inside, 8)))/2) * scale
}

// beyond returns the size of the group inside one domain and the factor for the part outside.
func (c *comm) beyond(g float64) (inside, scale float64) {
	if g <= c.domain {
		return g, 1
	}
	return c.domain, (g - 1) / g * c.domain / (c.domain - 1) * c.link / c.network
}
