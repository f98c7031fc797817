"""What tables, claims and prose argue from: named quantities, each computed from `lib.data` by `lib.cost`, in one place."""
