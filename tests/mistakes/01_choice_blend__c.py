# mistake: weights beyond one
answer_blend = "C"
