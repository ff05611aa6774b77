//! What the three programs say to each other, versioned.
