package hardware

func (s *system) draw(folder string) error { return nil }
