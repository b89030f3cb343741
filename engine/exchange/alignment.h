#ifndef WEIR_ENGINE_EXCHANGE_ALIGNMENT_H
#define WEIR_ENGINE_EXCHANGE_ALIGNMENT_H

/*
 * How the barriers of checkpoints travel on an edge (T25). Decided per edge by the plan; the number
 * stands in manifests.
 */
enum weir_edge_alignment {
	WEIR_EDGE_ALIGNED,   /* the job takes no unaligned checkpoints */
	WEIR_EDGE_FORCED,    /* the others may overtake data; on this edge they wait */
	WEIR_EDGE_UNALIGNED, /* barriers may overtake data, which the checkpoint then holds */
};

static inline const char *
weir_edge_alignment_name(enum weir_edge_alignment alignment)
{
	switch (alignment) {
	case WEIR_EDGE_ALIGNED:
		return "aligned";
	case WEIR_EDGE_FORCED:
		return "forced-aligned";
	case WEIR_EDGE_UNALIGNED:
		return "unaligned";
	}
	return "?";
}

#endif /* WEIR_ENGINE_EXCHANGE_ALIGNMENT_H */
